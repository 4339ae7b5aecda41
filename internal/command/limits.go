package command

// maxArg is the size of the largest single argument, in bytes: MAX_ARG_STRLEN
// of Linux, less the zero byte. Other systems have no such limit, but an item
// must not run on one machine and fail on another.
const maxArg = 128<<10 - 1

// argSpare is left for what is added to the environment of each item, and for
// what the system itself puts beside it.
const argSpare = 8 << 10

// argRoom is how many bytes of arguments a command can have beside this
// environment.
func argRoom(env []string) int {
	room := argMax() - argSpare
	for _, entry := range env {
		room -= argCost(entry)
	}
	return max(room, 0)
}

// argCost is what one argument takes: its bytes, a zero byte, and a pointer.
func argCost(arg string) int { return len(arg) + 1 + 8 }
