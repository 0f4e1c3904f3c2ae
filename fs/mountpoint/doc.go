// Package mountpoint makes the directories that a mount stands on, remembers
// in the state directory which of them it made, and removes those and no
// others. The memory is written before a directory is made, so that after a
// crash an empty directory at a mount path can be told from somebody else's.
package mountpoint
