//go:build linux

// Command bench measures memfs beside its peers, in one run of about a quarter
// of an hour, and prints one table, the same as JSON, and which of the targets
// were met. Nothing is asserted: a machine can be slow.
//
// The peers are the official SDK's memory sync (SessionMemoryStores of its
// package lib/environments) and its whole worker, ext4, ext4 with a journal in
// a loop file (as root; the host's own may have none), and, where it is
// installed, rclone: a mount with its write-back cache of a WebDAV server of
// its own. They take turns, so that whatever else the machine does hits all
// alike.
//
//	go run ./integration/bench -json result.json
//	go run ./integration/bench -only files -rounds 15 -profile cpu.out
//
// Its parts, chosen with -only:
//
//	files     every operation on 2,000 files of 4 KB in 50 directories
//	cold      the first stat and read after a mount
//	sessions  2,000 memories, flat and in 50 directories, at 20 and 100 ms a
//	          request: until the first tool call, the first byte and the last
//	          content; passes of every kind; an end with everything dirty
//	large     the starts of that at 10,000 memories
//	many      the start of a session with eight stores
//	rename    a directory of 500 files renamed
//	worker    whole workers: sessions with a few tool calls, and 50 in a row
//	idle      what a mount costs that nobody uses
//	memory    8 stores of 10,000 memories
//	growth    100, 1,000 and 10,000 memories
//
// Stores are embedded ones in a child process, behind a handler that counts
// requests and takes its time for each. Each peer is a child, too: what it
// costs is its own user and system time. The files are used by the parent, as
// an agent's tools would. The official sync does nothing within 5 seconds of
// the sync before, which is waited for and not counted.
package main
