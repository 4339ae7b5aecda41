package machine

import (
	"path"
	"slices"
	"strings"
)

// A process belongs to one control group in each hierarchy: up to a dozen of
// version 1, each with its controllers, and one of version 2. The limits of a
// group hold for all groups below it, so every ancestor counts that can be seen.
//
// See cgroups(7), cgroup_namespaces(7) and proc_pid_mountinfo(5).
type cgroups struct {
	own    []membership
	mounts []cgroupMount
}

// membership is a line of /proc/self/cgroup.
type membership struct {
	v2          bool
	controllers []string // of version 1
	path        string   // from the root of the cgroup namespace
}

// cgroupMount is a line of /proc/self/mountinfo that mounts a hierarchy.
type cgroupMount struct {
	v2      bool
	options []string // of the hierarchy; in version 1 they name its controllers
	root    string   // the group that is mounted
	point   string   // where
}

// group is the directory of one control group.
type group struct {
	dir string
	v2  bool
}

func (s System) cgroups() cgroups {
	var c cgroups
	for line := range strings.Lines(s.text("/proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(parts) == 3 {
			c.own = append(c.own, membership{parts[1] == "" && parts[0] == "0", strings.Split(parts[1], ","), parts[2]})
		}
	}
	if len(c.own) == 0 {
		return c
	}
	for line := range strings.Lines(s.text("/proc/self/mountinfo")) {
		if m, ok := parseMount(line); ok {
			c.mounts = append(c.mounts, m)
		}
	}
	return c
}

// parseMount reads a line like
//
//	31 23 0:28 /group /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
func parseMount(line string) (cgroupMount, bool) {
	left, right, ok := strings.Cut(line, " - ")
	place, kind := strings.Fields(left), strings.Fields(right)
	if !ok || len(place) < 5 || len(kind) < 3 || (kind[0] != "cgroup" && kind[0] != "cgroup2") {
		return cgroupMount{}, false
	}
	return cgroupMount{
		v2:      kind[0] == "cgroup2",
		options: strings.Split(kind[2], ","),
		root:    unescapeMount.Replace(place[3]),
		point:   unescapeMount.Replace(place[4]),
	}, true
}

// unescapeMount undoes the escapes of mountinfo.
var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// groups returns the control groups, from the process's own upwards, whose
// limits for a controller ("cpu", "memory", "pids") hold for this process.
func (c cgroups) groups(controller string) []group {
	var found []group
	for _, own := range c.own {
		if !own.v2 && !slices.Contains(own.controllers, controller) {
			continue
		}
		point, dir, ok := c.locate(own, controller)
		for ok {
			found = append(found, group{dir, own.v2})
			if dir == point || len(dir) <= 1 {
				break
			}
			dir = path.Dir(dir)
		}
	}
	return found
}

// locate returns where the hierarchy of a membership is mounted, and the
// directory of the group under it. Where no mount shows the group itself, as
// from inside some containers, the top of the mount stands for it: it is either
// an ancestor, or the container's own group.
func (c cgroups) locate(own membership, controller string) (point, dir string, ok bool) {
	for _, m := range c.mounts {
		if m.v2 != own.v2 || (!m.v2 && !slices.Contains(m.options, controller)) {
			continue
		}
		if below, seen := m.below(own.path); seen {
			return m.point, path.Join(m.point, below), true
		}
		if !ok {
			point, dir, ok = m.point, m.point, true
		}
	}
	return point, dir, ok
}

// below returns the path of a group from the top of the mount. Both may begin
// with "/..", for groups outside of this process's cgroup namespace.
func (m cgroupMount) below(group string) (string, bool) {
	rest, ok := strings.CutPrefix(group, strings.TrimSuffix(m.root, "/"))
	if !ok || (rest != "" && rest[0] != '/') || strings.HasPrefix(rest, "/..") {
		return "", false
	}
	return rest, true
}
