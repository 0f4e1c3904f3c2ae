// Package disk is the one seam between a replica and the host's disk. Every
// file operation of replica and journal goes through it with a label, so that
// a test can fail, cut short or record exactly one of them.
//
// Everything is opened relative to a directory handle and never through a
// symbolic link. Directories are 0700 and files 0600 under any umask; a
// directory that others own or can enter is refused (R18).
//
// Names are single path components. Errors are *fs.PathError around the
// system's error, so errors.Is works with fs.ErrNotExist, fs.ErrExist and
// errno values; *UnsafeError and *LockedError say the rest.
package disk
