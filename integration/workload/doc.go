// Package workload changes directories of a mount as agents do, and knows what
// must be there afterwards. A Worker has a directory to itself, so that every
// file's text is known at any time, also where an operation was cut off. An
// Editor shares its directory with another on another mount, and knows which of
// its lines nobody but it may destroy.
package workload
