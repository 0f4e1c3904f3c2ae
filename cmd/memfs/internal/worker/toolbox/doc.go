// Package toolbox runs an agent's tools in a process of their own.
//
// The process that serves a mount must not use it, and what runs an agent's
// commands must not hold credentials. So a worker opens a Box: a child process
// of the same binary that has the official toolset, a clean environment and,
// where the worker has privileges, none of them. Orders and answers go over the
// child's standard input and output, one JSON value each.
//
// When a Box is closed nothing that a tool started is left running.
package toolbox
