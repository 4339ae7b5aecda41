//go:build unix

package cli_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

// The items, and what a plain loop writes for them: json.dumps, one a line.
const bytesProgram = `import json, sys

N = 100_000
MIXED = [
    {"id": 7, "name": "caf\u00e9", "tags": ["a", None, True], "deep": {"x": [1, [2, {}]]}},
    [1, "two", 3.5, None, False, []],
    "\u65e5\u672c \U0001f600 \\ \" \x01 \u2028",
    None, True, "", {}, 0.1, 1e300, -2.5e-7, 1e16, 2**53 + 1, -(2**70),
]

def scalar(i):
    return (i, str(i), i / 7, None, i % 2 == 0)[i % 5]

def mixed(i):
    v = MIXED[i % len(MIXED)]
    return {"i": i, **v} if isinstance(v, dict) else v

def back(x):
    return x

async def aback(x):
    return x

if __name__ == "__main__":
    make = {"scalar": scalar, "mixed": mixed}[sys.argv[1]]
    values = [make(i) for i in range(N)]
    with open("items.jsonl", "w") as items:
        for v in values:
            items.write(json.dumps(v) + "\n")
    with open("want.jsonl", "w", encoding="utf-8") as want:
        for v in values:
            want.write(json.dumps(back(v), ensure_ascii=False, separators=(",", ":")) + "\n")
`

// Promise: whatever the plan, the result is byte for byte that of a plain loop.
func TestEveryPlanWritesTheBytesOfALoop(t *testing.T) {
	for _, kind := range []string{"scalar", "mixed"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "task.py"), bytesProgram)
		loop := exec.Command(interpreter(t), "task.py", kind)
		loop.Dir = dir
		if out, err := loop.CombinedOutput(); err != nil {
			t.Fatalf("the loop: %v, %s", err, out)
		}
		want := read(t, filepath.Join(dir, "want.jsonl"))
		for task, plans := range map[string][]string{
			"back":  {"serial", "threads:4", "processes:2", "2x4:threads"},
			"aback": {"serial", "async:100", "2x50:async", "processes:2"},
		} {
			for _, plan := range plans {
				t.Run(fmt.Sprintf("%s/%s/%s", kind, task, plan), func(t *testing.T) {
					p := prepare(t, dir, "run", "task.py:"+task, "items.jsonl", "--plan", plan, "-q").start()
					if status := p.status(patience); status != 0 {
						t.Fatalf("status %d: %s", status, p.stderr.String())
					}
					if got := p.stdout.String(); got != want {
						t.Error(firstDifference(got, want))
					}
				})
			}
		}
	}
}

func firstDifference(got, want string) string {
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	from := max(0, at-60)
	return fmt.Sprintf("%d bytes, want %d; they differ at byte %d:\n%q\n%q", len(got), len(want), at,
		got[from:min(len(got), at+60)], want[from:min(len(want), at+60)])
}
