package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/poolwise/poolwise/internal/machine"
	"github.com/poolwise/poolwise/internal/ui"
)

type doctorFlags struct {
	json   bool
	python string
	cpus   float64
}

// doctorCommand tells what a run would find on this machine.
func (a *App) doctorCommand() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "what this machine gives a run: runtimes, CPUs, limits, and what would hold a run back",
		Long: `doctor tells what this machine gives a run: the CPUs and the memory that may be
used and what bounds them, limits, interpreters, and the variables that size
thread pools. It ends with what would hold a run back. It changes nothing, and
its exit status is 0 whatever it finds.`,
		Example: `  poolwise doctor
  poolwise doctor --json
  poolwise doctor --cpus 0.5
  poolwise doctor --python python3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd, f) },
	}
	cmd.Flags().BoolVar(&f.json, "json", false, "as JSON; docs/json-output.md describes the fields")
	cmd.Flags().StringVar(&f.python, "python", "", "look at this interpreter: a `PATH` or a name (default: the one that run would use)")
	cmd.Flags().Float64Var(&f.cpus, "cpus", 0, "use at most this many CPUs, as run would with the same flag")
	return cmd
}

func (a *App) doctor(cmd *cobra.Command, f doctorFlags) error {
	if f.cpus < 0 || math.IsNaN(f.cpus) || cmd.Flags().Changed("cpus") && f.cpus == 0 {
		return &ExitError{ExitUsage, fmt.Errorf("--cpus %v: it is a number above 0", f.cpus)}
	}
	opts := machine.PythonOptions{Flag: f.python, Env: a.Env, Dir: a.Dir}
	facts, err := machine.Here(a.Env).Describe(cmd.Context(), f.cpus, opts)
	if err != nil {
		return &ExitError{ExitInterrupted, fmt.Errorf("doctor was interrupted: %w", err)}
	}
	report := doctorReport{facts, machine.Findings(facts)}
	text := report.text()
	if f.json {
		text = report.json()
	}
	return a.print(func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// doctorReport is what doctor writes. Its JSON is a contract:
// docs/json-output.md, section "doctor".
type doctorReport struct {
	*machine.Context
	Findings []machine.Finding `json:"findings"`
}

func (r doctorReport) json() []byte {
	if r.Findings == nil {
		r.Findings = []machine.Finding{}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(r) // no value in it can fail to be encoded
	return b.Bytes()
}

// factTable is text in two columns: what it is about, and the facts.
type factTable struct{ bytes.Buffer }

// row adds a line; without a label it goes on with the one above.
func (t *factTable) row(label, format string, args ...any) {
	fmt.Fprintf(t, "%-11s %s\n", label, ui.Escape(fmt.Sprintf(format, args...)))
}

func (r doctorReport) text() []byte {
	var t factTable
	t.row("system", "%s, %s, %s", r.System, r.Kernel, r.Arch)
	r.processorRows(&t)
	r.cpuRows(&t)
	r.memoryRows(&t)
	r.limitRows(&t)
	r.pythonRows(&t)
	r.nodeRow(&t)
	r.threadRows(&t)
	fmt.Fprintln(&t, "\nwhat would hold a run back")
	if len(r.Findings) == 0 {
		fmt.Fprintln(&t, "  nothing that was looked for")
	}
	for _, f := range r.Findings {
		text := f.Text
		if f.Do != "" {
			text += "; " + f.Do
		}
		fmt.Fprintf(&t, "  - %s\n", ui.Escape(text))
	}
	return t.Bytes()
}

func (r doctorReport) processorRows(t *factTable) {
	p := r.Processor
	t.row("processor", "%s", orUnknown(p.Model))
	cores := fmt.Sprintf("%d logical", p.Logical)
	if p.Physical > 0 {
		threads := "one thread each"
		if p.SMT {
			threads = "several threads each (SMT)"
		}
		cores = fmt.Sprintf("%d physical, %d logical, %s", p.Physical, p.Logical, threads)
	}
	t.row("cores", "%s", cores)
	if p.Governor != "" {
		t.row("", "frequency governor %s", p.Governor)
	}
	if len(p.Load) == 3 {
		t.row("load", "%.2f, %.2f, %.2f over 1, 5 and 15 minutes", p.Load[0], p.Load[1], p.Load[2])
	}
}

func (r doctorReport) cpuRows(t *factTable) {
	c := r.CPUs
	t.row("usable CPUs", "%s, bound by %s; workers for tasks that compute: %d", cpuNumber(c.Usable), c.Bound, c.Workers)
	for _, b := range c.Bounds {
		t.row("", "  %-20s %-5s %s", b.Name, cpuNumber(b.CPUs), b.Detail)
	}
}

func (r doctorReport) memoryRows(t *factTable) {
	m := r.Memory
	if m.Total == 0 && len(m.Limits) == 0 {
		t.row("memory", "not known")
		return
	}
	bound := "what is available"
	if m.Bound != "available" {
		bound = "a " + m.Bound
	}
	t.row("memory", "%s usable, bound by %s; the machine has %s", ui.Bytes(m.Usable), bound, ui.Bytes(m.Total))
	t.row("", "  %-20s %s", "available", ui.Bytes(m.Available))
	for _, l := range m.Limits {
		t.row("", "  %-20s %s of %s are left, %s", "cgroup limit", ui.Bytes(l.Free()), ui.Bytes(l.Limit), l.File)
	}
	if s := r.Limits.SharedMemory; s != nil {
		t.row("", "  %-20s %s", "/dev/shm", ui.Bytes(*s))
	}
}

func (r doctorReport) limitRows(t *factTable) {
	l := r.Limits
	t.row("limits", "open files %s, processes of this user %s, further tasks in the control group %s", limitWords(l.OpenFiles), limitWords(l.Processes), limitWords(l.Tasks))
	if k := r.KernelFeatures; k != nil {
		t.row("kernel has", "pidfd %s, memfd %s", yesNo(k.Pidfd), yesNo(k.Memfd))
	}
}

func (r doctorReport) pythonRows(t *factTable) {
	p := r.Python
	if p == nil {
		t.row("python", "none that can be used")
	} else {
		t.row("python", "%s %s, %s", p.Implementation, p.Version, gil(p))
		t.row("", "%s", p.Path)
		t.row("", "found as %s%s", p.How, throughShim(p))
		t.row("", "start methods of multiprocessing: %s", startMethods(p))
		t.row("", "open files %s", limitWords(p.OpenFiles))
	}
	for _, other := range r.OtherPythons {
		t.row("", "also in PATH: %s", other)
	}
}

func gil(p *machine.PythonFacts) string {
	text := "GIL off"
	if p.GIL {
		text = "GIL on"
	}
	if p.FreeThreaded {
		text += ", free-threaded build"
	}
	if p.VirtualEnv {
		text += ", virtual environment"
	}
	return text
}

func throughShim(p *machine.PythonFacts) string {
	if p.Shim == "" {
		return ""
	}
	return fmt.Sprintf(", through the script %s in %s", p.Shim, ui.Duration(p.ShimTime))
}

func startMethods(p *machine.PythonFacts) string {
	if len(p.StartMethods) == 0 {
		return "none"
	}
	methods := slices.Clone(p.StartMethods)
	for i, m := range methods {
		if m == p.DefaultStart {
			methods[i] += " (default)"
		}
	}
	return strings.Join(methods, ", ")
}

func (r doctorReport) nodeRow(t *factTable) {
	if r.Node == nil {
		t.row("node", "none in PATH")
		return
	}
	t.row("node", "%s, %s", orUnknown(r.Node.Version), r.Node.Path)
}

func (r doctorReport) threadRows(t *factTable) {
	var set, unset []string
	for name, value := range r.ThreadPools {
		if value == nil {
			unset = append(unset, name)
		} else {
			set = append(set, name+"="+*value)
		}
	}
	slices.Sort(set)
	slices.Sort(unset)
	label := "threads"
	for _, s := range set {
		t.row(label, "%s", s)
		label = ""
	}
	if len(unset) > 0 {
		t.row(label, "not set: %s", strings.Join(unset, ", "))
	}
}

func orUnknown(text string) string {
	if text == "" {
		return "not known"
	}
	return text
}

func yesNo(v bool) string {
	if v {
		return "yes"
	}
	return "no"
}

func limitWords(n *int64) string {
	if n == nil {
		return "no limit"
	}
	return ui.Count(uint64(max(0, *n)))
}

func cpuNumber(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }
