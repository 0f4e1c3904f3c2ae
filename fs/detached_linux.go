package fs

import (
	"errors"
	"os"
	"syscall"

	"go.uber.org/zap"
)

// tableChanges tells when the mount table of this process's namespace changes:
// poll wakes whoever has it open then. A goroutine waits for that, not a thread.
type tableChanges struct {
	file *os.File
	conn syscall.RawConn
}

// watchTable begins to listen. Without it a mount that is unmounted while in use
// is noticed when its last user is gone.
func watchTable(log *zap.Logger) *tableChanges {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		log.Debug("the mount table cannot be watched", zap.Error(err))
		return &tableChanges{}
	}
	conn, err := file.SyscallConn()
	if err != nil {
		log.Debug("the mount table cannot be watched", zap.Error(errors.Join(err, file.Close())))
		return &tableChanges{}
	}
	return &tableChanges{file: file, conn: conn}
}

// until calls look now and after each change, and returns whether it said true
// in the end. It gives up when the table is closed.
func (t *tableChanges) until(look func() bool) bool {
	// Read calls its function before it waits, and no change between two calls
	// is lost: several are one.
	return t.conn != nil && t.conn.Read(func(uintptr) bool { return look() }) == nil
}

// close ends until. It is called once.
func (t *tableChanges) close() {
	if t.file != nil {
		_ = t.file.Close()
	}
}
