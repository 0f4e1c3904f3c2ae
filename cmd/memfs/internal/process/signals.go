package process

import (
	"os"
	"os/signal"
	"syscall"
)

// Signals delivers what tells a process to end: SIGTERM, SIGINT, and SIGHUP
// unless it was started to ignore that (nohup). stop gives them back their
// default meaning.
//
// It also keeps a write to a closed pipe from killing the process: a
// filesystem must not die because the reader of its log did.
func Signals() (got <-chan os.Signal, stop func()) {
	end := []os.Signal{syscall.SIGTERM, syscall.SIGINT}
	if !signal.Ignored(syscall.SIGHUP) {
		end = append(end, syscall.SIGHUP)
	}
	signals, pipes := make(chan os.Signal, 2), make(chan os.Signal, 1)
	signal.Notify(signals, end...)
	signal.Notify(pipes, syscall.SIGPIPE)
	return signals, func() { signal.Stop(signals); signal.Stop(pipes) }
}
