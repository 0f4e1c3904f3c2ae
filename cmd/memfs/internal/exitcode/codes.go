package exitcode

// Meaning is what one exit code says.
type Meaning struct {
	Code    int
	Meaning string
}

// Codes are all of them, as people read them.
func Codes() []Meaning {
	return []Meaning{
		{OK, "done, everything sent"},
		{Failed, "failed"},
		{Usage, "usage: the command line, a variable, or a store that does not exist or whose name is not unique"},
		{HostNotReady, "host not ready: memfs doctor says why"},
		{PathTaken, "something that is not memfs's lies at the mount path"},
		{Unreachable, "store unreachable, or the credential was refused"},
		{EditsKept, "edits were kept in the journal and not all sent"},
		{Busy, "the mount path or its state belongs to a live process"},
		{ExecEditsKept, "exec: the command succeeded, but edits were kept in the journal"},
		{ExecFailed, "exec: memfs failed and nothing ran"},
		{ExecNotExecutable, "exec: the command could not be run"},
		{ExecNotFound, "exec: the command was not found"},
	}
}
