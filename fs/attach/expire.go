package attach

import (
	"context"
	"time"

	"go.uber.org/zap"

	"memfs/store/replica"
)

// expireEvery is how often texts are looked for that are kept too long (R19).
const expireEvery = 24 * time.Hour

// expire removes, now and daily, what is too old or too much in the conflict
// areas of the state directory, also of stores that nobody attaches any more.
func (s *Session) expire(ctx context.Context) {
	for {
		if err := expireConflicts(s.o.StateDir, s.o.Log); err != nil {
			s.o.Log.Warn("the conflict area cannot be looked after", zap.String("code", "conflicts"), zap.Error(err))
		}
		select {
		case <-time.After(expireEvery):
		case <-ctx.Done():
			return
		}
	}
}

func expireConflicts(stateDir string, log *zap.Logger) error {
	areas, done, err := replica.ConflictAreas(stateDir)
	if err != nil {
		return err
	}
	defer done()
	for _, area := range areas {
		dropped, err := area.Expire()
		for _, e := range dropped {
			log.Warn("a losing text was kept long enough, or too many are; it is dropped", zap.String("code", "conflict_expired"),
				zap.String("store", e.StoreID), zap.String("path", e.Path), zap.String("conflict", e.ID), zap.Time("since", e.Time))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
