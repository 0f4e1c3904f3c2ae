package toolbox

import (
	"errors"
	"fmt"
	"os/user"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// User is who runs tools.
type User struct {
	UID, GID uint32
	Groups   []uint32
	Name     string
	// Home is the user's home directory; "/" for an id that has no name.
	Home string
}

// LookupUser finds a user by name or id. An id without a name may have a
// group behind a colon: "10001:10001".
func LookupUser(text string) (*User, error) {
	found, err := user.Lookup(text)
	if err != nil {
		found, err = user.LookupId(text)
	}
	if err != nil {
		return numeric(text)
	}
	u := &User{Name: found.Username, Home: found.HomeDir}
	if u.UID, err = id(found.Uid); err != nil {
		return nil, err
	}
	if u.GID, err = id(found.Gid); err != nil {
		return nil, err
	}
	groups, err := found.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("groups of %s: %w", text, err)
	}
	for _, group := range groups {
		gid, err := id(group)
		if err != nil {
			return nil, err
		}
		u.Groups = append(u.Groups, gid)
	}
	return u, nil
}

// Owner is whose directory dir is, as LookupUser takes it: an id, with a group
// where it has no name.
func Owner(dir string) (string, error) {
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return "", fmt.Errorf("owner of %s: %w", dir, err)
	}
	text := strconv.FormatUint(uint64(stat.Uid), 10)
	if _, err := user.LookupId(text); err != nil {
		text += ":" + strconv.FormatUint(uint64(stat.Gid), 10)
	}
	return text, nil
}

func numeric(text string) (*User, error) {
	uid, gid, ok := strings.Cut(text, ":")
	if !ok {
		gid = uid
	}
	u := &User{Name: uid, Home: "/"}
	var errs [2]error
	u.UID, errs[0] = id(uid)
	u.GID, errs[1] = id(gid)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("there is no user %q, and it is no id either (10001, 10001:10001)", text)
	}
	return u, nil
}

func id(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err
}
