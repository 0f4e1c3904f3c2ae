//go:build linux

package hostile

import "unsafe"

// ptr is for a system call that no package wraps.
func ptr(b *byte) unsafe.Pointer { return unsafe.Pointer(b) }
