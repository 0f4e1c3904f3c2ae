package flags

import (
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// DurationVar defines a flag for a duration of at least least. A bare number
// is seconds.
func DurationVar(set *pflag.FlagSet, p *time.Duration, name string, value, least time.Duration, usage string) {
	*p = value
	set.Var(&duration{p, least}, name, usage)
}

type duration struct {
	p     *time.Duration
	least time.Duration
}

func (d *duration) String() string { return d.p.String() }
func (d *duration) Type() string   { return "duration" }

func (d *duration) Set(text string) error {
	value, err := parseDuration(text)
	if err != nil {
		return err
	}
	if value < d.least {
		return fmt.Errorf("at least %s", d.least)
	}
	*d.p = value
	return nil
}

func parseDuration(text string) (time.Duration, error) {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		value, err := time.ParseDuration(text)
		if err != nil {
			return 0, errors.New("neither a duration (15s, 2m) nor a number of seconds")
		}
		return value, nil
	}
	if math.IsNaN(seconds) || math.Abs(seconds) > math.MaxInt64/float64(time.Second) {
		return 0, errors.New("out of range")
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// ChoiceVar defines a flag that takes one of a few words. A hyphen and an
// underscore are the same in them; p gets the spelling of choices.
func ChoiceVar(set *pflag.FlagSet, p *string, name, value string, choices []string, usage string) {
	*p = value
	set.Var(&choice{p, choices}, name, usage+": "+strings.Join(choices, ", "))
}

type choice struct {
	p       *string
	choices []string
}

func (c *choice) String() string { return *c.p }
func (c *choice) Type() string   { return "word" }

func (c *choice) Set(text string) error {
	word := strings.ReplaceAll(text, "-", "_")
	i := slices.IndexFunc(c.choices, func(s string) bool { return strings.ReplaceAll(s, "-", "_") == word })
	if i < 0 {
		return fmt.Errorf("one of %s", strings.Join(c.choices, ", "))
	}
	*c.p = c.choices[i]
	return nil
}

// OctalVar defines a flag for a number in octal digits, up to most.
func OctalVar(set *pflag.FlagSet, p *uint32, name string, value, most uint32, usage string) {
	*p = value
	set.Var(&octal{p, most}, name, usage)
}

type octal struct {
	p    *uint32
	most uint32
}

func (o *octal) String() string { return fmt.Sprintf("%03o", *o.p) }
func (o *octal) Type() string   { return "octal" }

func (o *octal) Set(text string) error {
	value, err := strconv.ParseUint(text, 8, 32)
	if err != nil || uint32(value) > o.most {
		return fmt.Errorf("an octal number up to %03o", o.most)
	}
	*o.p = uint32(value)
	return nil
}

// IDVar defines a flag for the number of a user or a group.
func IDVar(set *pflag.FlagSet, p *uint32, name string, value uint32, usage string) {
	*p = value
	set.Var((*id)(p), name, usage)
}

type id uint32

func (i *id) String() string { return strconv.FormatUint(uint64(*i), 10) }
func (i *id) Type() string   { return "number" }

func (i *id) Set(text string) error {
	value, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return errors.New("a number, as the command id tells it")
	}
	*i = id(value)
	return nil
}

// AddressVar defines a flag for an address to listen on, HOST:PORT; with bare a
// port may stand alone. The host may be empty.
func AddressVar(set *pflag.FlagSet, p *string, name, value string, bare bool, usage string) {
	*p = value
	set.Var(&address{p, bare}, name, usage)
}

type address struct {
	p    *string
	bare bool
}

func (a *address) String() string { return *a.p }
func (a *address) Type() string   { return "address" }

func (a *address) Set(text string) error {
	whole := text
	if a.bare && !strings.Contains(text, ":") {
		whole = ":" + text
	}
	_, port, err := net.SplitHostPort(whole)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	switch {
	case err == nil:
		*a.p = text
		return nil
	case a.bare:
		return errors.New("neither a port nor HOST:PORT")
	}
	return errors.New("not HOST:PORT, with a number as the port")
}
