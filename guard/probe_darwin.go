package guard

import "os"

// macHelper is where macFUSE installs the program that mounts.
const macHelper = "/Library/Filesystems/macfuse.fs/Contents/Resources/mount_macfuse"

// probeFUSE looks for macFUSE.
func probeFUSE(f *Facts) {
	if _, err := os.Stat(macHelper); err == nil {
		f.Helper, f.HelperPrivileged = macHelper, true
	}
}
