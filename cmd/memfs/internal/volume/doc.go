// Package volume reads the volume syntax of the command line,
// STORE[:PATH][:ro], and decides where a store without a path goes.
package volume
