//go:build linux

// Command benchfs measures a mounted store against ext4, in one run: the same
// operations on the same 2,000 files of 4 KB in 50 directories, in rounds that
// take turns, so that whatever else the machine does hits all alike. It prints
// one table of medians and ratios beside the targets, and the same as JSON.
//
// The mount is served by a child process, which is a client, over HTTP, of an
// embedded store in another child. As root it also makes an ext4 with a
// journal in a loop file, since the host's own may have none.
//
//	go run ./integration/benchfs -dir /var/tmp -rounds 15
//	go run ./integration/benchfs -only idle,memory,attach -json result.json
//
// Its parts, chosen with -only: ops (the table), cold (the first stat and read
// after a mount), idle (what a mount costs that nobody uses), memory (8 stores
// with 10,000 memories each) and attach (time to a usable mount).
package main
