// Package soak runs memfs for a long time in bad weather, and looks all the
// time whether it holds what it promises: hours of a bad week in minutes.
//
// Eight mounts of five stores, served by the real program in processes of their
// own, are changed by agents' tools; every store has a second writer. Between
// mounts and stores stands a proxy (package proxy) that delays, refuses, cuts,
// loses and withholds. Processes are killed, stopped and started again, a disk
// fills up, the stores' clock steps.
//
// Every so often the weather clears, and everything must be equal: what the
// agents were told is written, the mounts, and the stores.
//
//	make soak SOAK=1h
//
// It prints the seed that makes the same choices again (-soak.seed).
package soak
