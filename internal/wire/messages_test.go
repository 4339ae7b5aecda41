package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/poolwise/poolwise/internal/wire"
)

// A path need not be UTF-8; what is not must not become U+FFFD on the way.
func TestLoadBodyKeepsBytes(t *testing.T) {
	body := wire.LoadBody{Task: wire.TaskRef{File: "/d\xe4r/\"m\".py", Name: "f"}, Kind: "threads", Slots: 3, Init: "set\nup"}
	got, err := json.Marshal(body)
	want := `{"task":{"file":"/d\udce4r/\"m\".py","name":"f"},"kind":"threads","slots":3,"init":"set\nup"}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	var back wire.LoadBody
	body = wire.LoadBody{Task: wire.TaskRef{Module: "a.b", Name: "f"}, Kind: "serial", Slots: 1}
	text, _ := json.Marshal(body)
	if err := json.Unmarshal(text, &back); err != nil || back != body {
		t.Errorf("%s came back as %+v, %v", text, back, err)
	}
}
