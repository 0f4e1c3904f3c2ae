// Package journal is an append-only log of opaque payloads in one file.
//
// A file of format version 1 is
//
//	header   "memfsjnl" | version u32 | salt 8 bytes | length u32 | JSON | crc32c u32
//	frames   length u32 | crc32c u32 | payload
//	zeros    to the end of the file
//
// with all numbers little-endian. A frame's checksum covers the file's salt,
// the frame's offset, its length and its payload, so a frame that stands in
// another place or is left from another file never verifies. A frame is there
// as a whole or not at all, and what follows the first bad one is not read.
//
// Space is taken ahead by writing zeros, so that the fdatasync after an append
// need not change metadata; the last 64 KiB of it are the reserve, which only
// small appends may use, and only when the disk gives no more.
//
// A file is never reopened to append: opening a replica reads the old file and
// creates a new one over it, beginning with a snapshot. A checkpoint does the
// same while the journal is in use.
package journal
