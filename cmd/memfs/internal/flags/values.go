package flags

import (
	"errors"
	"fmt"
	"math"
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
