package worker

import (
	"log/slog" //nolint:depguard // what the SDK takes
	"math"

	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
)

// sdkLog is a log for the SDK that ends in ours.
func sdkLog(log *zap.Logger) *slog.Logger {
	return slog.New(zapslog.NewHandler(log.Core(), zapslog.AddStacktraceAt(math.MaxInt)))
}
