package machine

import (
	"os"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const line = "4711 (a ) (b) R 1 4711 4711 0 -1 4194304 100 0 0 0 150 50 30 20 20 0 3 0 123456 10485760 1234 18446744073709551615 1 1"
	got, ok := parseStat(line)
	if want := (usage{cpu: 2500 * time.Millisecond, rss: 1234}); !ok || got != want {
		t.Errorf("got %+v, %v; want %+v", got, ok, want)
	}
	for _, bad := range []string{"", "1 (x) R 1", "1 (x) R 1 1 1 0 -1 0 0 0 0 0 a b c d 0 0 0 0 0 0 0"} {
		if _, ok := parseStat(bad); ok {
			t.Errorf("parseStat(%q) succeeds", bad)
		}
	}
}

func TestParsePS(t *testing.T) {
	pid, got, ok := parsePS("  42  2048   1-02:03:04.50")
	want := usage{cpu: 26*time.Hour + 3*time.Minute + 4500*time.Millisecond, rss: 2 << 20}
	if !ok || pid != 42 || got != want {
		t.Errorf("got %d %+v, %v; want %+v", pid, got, ok, want)
	}
	for _, bad := range []string{"", "1 2", "x 1 0:00", "1 x 0:00", "1 1 0:x"} {
		if _, _, ok := parsePS(bad); ok {
			t.Errorf("parsePS(%q) succeeds", bad)
		}
	}
}

func TestTreeUsage(t *testing.T) {
	cpu, rss := TreeUsage([]int{os.Getpid(), 1 << 30})
	if rss < 1<<20 {
		t.Errorf("this process holds %d bytes", rss)
	}
	if cpu < 0 || cpu > 3600 {
		t.Errorf("this process has used %v s", cpu)
	}
}

func TestMeter(t *testing.T) {
	var m Meter
	start := time.Now()
	if cores, rss := m.Read(start, []int{os.Getpid()}); cores != 0 || rss == 0 {
		t.Errorf("first reading: %v cores, %d bytes", cores, rss)
	}
	for used := m.last[os.Getpid()].cpu; ; { // until a clock tick was used
		if now := readUsage([]int{os.Getpid()})[os.Getpid()].cpu; now > used {
			break
		}
	}
	// As if a second had passed since.
	if cores, _ := m.Read(start.Add(time.Second), []int{os.Getpid()}); cores <= 0 {
		t.Errorf("second reading: %v cores", cores)
	}
	if cores, rss := m.Read(start.Add(2*time.Second), nil); cores != 0 || rss != 0 {
		t.Errorf("without processes: %v cores, %d bytes", cores, rss)
	}
}
