// Package control lets commands talk to the memfs processes of this host: over
// HTTP on a Unix socket for each process, in a directory that only its owner
// can enter.
//
// Commands find the processes by the sockets in the directory. A socket whose
// process is dead is removed by whoever meets it.
package control
