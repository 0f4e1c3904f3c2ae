// Package logging makes the logger of a command: one line an event, for
// people or for machines, with times in UTC.
package logging

import (
	"fmt"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"memfs/cmd/memfs/internal/visible"
)

// The formats that New knows.
const (
	Text = "text"
	JSON = "json"
)

// Levels are the levels that New knows, the most verbose first.
func Levels() []string { return []string{"debug", "info", "warn", "error"} }

// Formats are the formats that New knows.
func Formats() []string { return []string{Text, JSON} }

// New makes a logger that writes to w, and nothing there that could do something
// to a terminal. It waits for w for a second at most: where that is a pipe that
// nobody reads, lines are late, and lost beyond a megabyte.
func New(w zapcore.WriteSyncer, level, format string) (*zap.Logger, error) {
	least, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, fmt.Errorf("log level: %w", err)
	}
	config := zapcore.EncoderConfig{
		TimeKey: "time", LevelKey: "level", MessageKey: "message", NameKey: "logger",
		EncodeTime:     encodeTime,
		EncodeDuration: zapcore.StringDurationEncoder,
	}
	var encoder zapcore.Encoder
	switch format {
	case JSON:
		config.EncodeLevel = zapcore.LowercaseLevelEncoder
		encoder = zapcore.NewJSONEncoder(config)
	case Text:
		config.EncodeLevel = zapcore.CapitalLevelEncoder
		config.ConsoleSeparator = "  "
		encoder = zapcore.NewConsoleEncoder(config)
	default:
		return nil, fmt.Errorf("log format %q: want %s or %s", format, Text, JSON)
	}
	lost := func(lines int) []byte {
		entry := zapcore.Entry{Level: zapcore.WarnLevel, Time: time.Now(), Message: "lines of the log were lost while nobody read it"}
		line, err := encoder.EncodeEntry(entry, []zapcore.Field{zap.String("code", "log_lost"), zap.Int("lines", lines)})
		if err != nil {
			return nil
		}
		return line.Bytes()
	}
	out := visible.Writer(&sink{w: w, lost: lost})
	return zap.New(zapcore.NewCore(encoder, zapcore.AddSync(out), least), zap.ErrorOutput(w)), nil
}

func encodeTime(t time.Time, to zapcore.PrimitiveArrayEncoder) {
	to.AppendString(t.UTC().Format("2006-01-02T15:04:05.000Z"))
}
