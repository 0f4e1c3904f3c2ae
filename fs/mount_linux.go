package fs

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

const (
	fuseDevice = "/dev/fuse"
	fuseConfig = "/etc/fuse.conf"
)

// privileged reports whether this process mounts by itself. An ordinary user
// goes through fusermount3, which has the right.
func privileged() bool { return os.Geteuid() == 0 }

// mountPolicy sets how to mount. Never auto_unmount: fusermount3 would stay
// for it, and go-fuse waits for its end.
func mountPolicy(o *fuse.MountOptions, strict bool) {
	o.DirectMountStrict = privileged()
	o.DirectMountFlags = unix.MS_NOSUID | unix.MS_NODEV
	if !strict {
		return
	}
	if o.DirectMountStrict {
		o.DirectMountFlags |= unix.MS_RDONLY
	} else {
		o.Options = append(o.Options, "ro")
	}
}

// mountable looks for what would make mounting fail, to name the remedy:
// fusermount3 has only a text for its reasons.
func mountable(o Options) error {
	device, err := os.OpenFile(fuseDevice, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNoDevice
	case err != nil:
		return explain(err)
	}
	if err := device.Close(); err != nil {
		return err
	}
	if privileged() {
		return nil
	}
	if _, err := helper(); err != nil {
		return err
	}
	if o.AllowOther && !othersAllowed() {
		return ErrAllowOther
	}
	return nil
}

// helper finds fusermount3.
func helper() (string, error) {
	for _, name := range []string{"fusermount3", "/bin/fusermount3", "fusermount"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoHelper
}

// othersAllowed reports whether the host lets ordinary users mount for others.
func othersAllowed() bool {
	file, err := os.Open(fuseConfig)
	if err != nil {
		return false
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "user_allow_other" {
			return true
		}
	}
	return false
}

// awaitReady has nothing to wait for: mount(2) is done and INIT answered when
// the server exists. go-fuse's own WaitMount would open a file in the mount,
// to learn that poll is not served; no file of a mount is ever polled here.
func awaitReady(*fuse.Server) error { return nil }

// unmount fails with EBUSY while the mount is in use.
func unmount(path string) error {
	if privileged() {
		return unix.Unmount(path, unix.UMOUNT_NOFOLLOW)
	}
	return runHelper("-u", path)
}

// unmountLazily takes the mount out of the tree at once; those who use it keep
// it until they let go.
func unmountLazily(path string) error {
	if privileged() {
		return unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	}
	return runHelper("-u", "-z", path)
}

func runHelper(args ...string) error {
	path, err := helper()
	if err != nil {
		return err
	}
	command := exec.Command(path, args...)
	command.Env = append(os.Environ(), "LC_ALL=C")
	said, err := command.CombinedOutput()
	if err == nil {
		return nil
	}
	text := strings.TrimSpace(string(said))
	if strings.Contains(text, "busy") {
		return fmt.Errorf("%w: %s", unix.EBUSY, text)
	}
	return fmt.Errorf("%s: %w: %s", path, err, text)
}
