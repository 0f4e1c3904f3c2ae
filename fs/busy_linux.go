package fs

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// Busy names the processes that use the mount, as far as this process may see
// them: those of other users are hidden from an ordinary one. Of a mount
// namespace that has a copy of the mount it names one process.
//
// It recognizes files by their device and asks the filesystem nothing.
func (m *Mounted) Busy() []Holder {
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var holders []Holder
	own, _ := os.Readlink("/proc/self/ns/mnt")
	known := map[string]bool{own: true}
	for _, process := range processes {
		pid, err := strconv.Atoi(process.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join("/proc", process.Name())
		uses := m.device.usedBy(dir)
		if namespace, err := os.Readlink(filepath.Join(dir, "ns/mnt")); err == nil && !known[namespace] {
			known[namespace] = true
			if m.device.mountedFor(dir) {
				uses = append(uses, "mount namespace")
			}
		}
		if len(uses) > 0 {
			holders = append(holders, Holder{PID: pid, Command: command(pid), Uses: uses})
		}
	}
	return holders
}

// usedBy says with what a process, given by its directory in /proc, uses a
// device. A process that ends meanwhile uses nothing.
func (d device) usedBy(process string) []string {
	var uses []string
	for _, link := range []string{"cwd", "root", "exe"} {
		if d.has(filepath.Join(process, link)) {
			uses = append(uses, link)
		}
	}
	files, _ := os.ReadDir(filepath.Join(process, "fd"))
	for _, file := range files {
		if d.has(filepath.Join(process, "fd", file.Name())) {
			uses = append(uses, "fd "+file.Name())
		}
	}
	if d.mappedBy(process) {
		uses = append(uses, "map")
	}
	return uses
}

// has reports whether a file is on the device. With an empty mask and
// AT_STATX_DONT_SYNC the kernel answers without asking the filesystem.
func (d device) has(path string) bool {
	var stat unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC|unix.AT_NO_AUTOMOUNT, 0, &stat)
	return err == nil && int(stat.Dev_major) == d.major && int(stat.Dev_minor) == d.minor
}

// mappedBy reports whether a process has a file of the device mapped: the
// fourth column of its maps is the device.
func (d device) mappedBy(process string) bool {
	file, err := os.Open(filepath.Join(process, "maps"))
	if err != nil {
		return false
	}
	defer file.Close()
	want := fmt.Sprintf("%02x:%02x", d.major, d.minor)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if columns := strings.Fields(lines.Text()); len(columns) > 3 && columns[3] == want {
			return true
		}
	}
	return false
}

// mountedFor reports whether the device is mounted where a process is.
func (d device) mountedFor(process string) bool {
	file, err := os.Open(filepath.Join(process, "mountinfo"))
	if err != nil {
		return false
	}
	defer file.Close()
	ours := func(m *mountinfo.Info) (skip, stop bool) { return d != device{m.Major, m.Minor}, false }
	mounts, err := mountinfo.GetMountsFromReader(file, ours)
	return err == nil && len(mounts) > 0
}

func command(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(string(name))
}
