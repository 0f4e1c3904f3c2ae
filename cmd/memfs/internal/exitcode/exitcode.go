// Package exitcode holds the command line's contract of exit codes: the one
// place where an error becomes a number.
package exitcode

import (
	"errors"
	"fmt"
)

// The codes of every command.
const (
	// OK: what was asked for is done, and everything was sent.
	OK = 0
	// Failed: anything that has no code of its own.
	Failed = 1
	// Usage: the command line or a MEMFS_ variable is wrong.
	Usage = 2
	// HostNotReady: this host cannot mount; memfs doctor says why.
	HostNotReady = 3
	// PathTaken: something that is not memfs's lies at the mount path.
	PathTaken = 4
	// Unreachable: the store cannot be reached or refused the credential.
	Unreachable = 5
	// EditsKept: not everything was sent; the rest is in the journal.
	EditsKept = 6
	// Busy: the mount path or its state belongs to a live process.
	Busy = 7
)

// The codes that only memfs exec has, beside those of the command it runs.
const (
	// ExecEditsKept: the command succeeded, but edits were left in the
	// journal.
	ExecEditsKept = 120
	// ExecFailed: memfs failed and the command was not run.
	ExecFailed = 125
	// ExecNotExecutable: the command was found and could not be run.
	ExecNotExecutable = 126
	// ExecNotFound: there is no such command.
	ExecNotFound = 127
)

// Error is an error that knows its exit code.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the error without its code.
func (e *Error) Unwrap() error { return e.Err }

// With gives err an exit code; nil stays nil.
func With(code int, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: code, Err: err}
}

// Errorf is fmt.Errorf with an exit code.
func Errorf(code int, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// Of is the exit code for err. The outermost Error decides; without one, the
// errors of the packages below have their codes in a table here.
func Of(err error) int {
	if err == nil {
		return OK
	}
	var coded *Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	return rowOf(err).code
}

// Remedy is what to do about err, for the end of a message; "" where the
// message says all there is to say.
func Remedy(err error) string { return rowOf(err).remedy }
