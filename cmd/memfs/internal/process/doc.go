// Package process sets what memfs is as a process: not dumpable, with a umask
// that keeps its files to their owner, and told to end by signals.
package process
