// Package flags joins a command's flags to their MEMFS_ environment
// variables, and holds the kinds of flag that pflag does not have.
package flags
