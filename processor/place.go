package processor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// ComparePlace compares a stored offset with its partition's log as it is now, and returns the
// log's bounds. ErrReplaced, ErrPastEnd and ErrRetained where the two do not belong together.
//
// That the log reaches past the offset shows nothing: a topic that was made again gets there
// too. So the topic's id must be the stored one, and the record before the offset the one that
// was applied last, if the log still has it.
func ComparePlace(ctx context.Context, log Place, stored facts.StoredOffset) (first, end int64, err error) {
	id, err := log.TopicID(ctx, stored.Topic)
	if err != nil {
		return 0, 0, err
	}
	if first, end, err = log.Bounds(ctx, stored.Topic, stored.Partition); err != nil {
		return 0, 0, err
	}
	partition := fmt.Sprintf("%s/%d", stored.Topic, stored.Partition)
	switch {
	case stored.LogID == facts.LogReplaced:
		return first, end, fmt.Errorf("%w: %s: stored %d, past the end that the log had then", ErrReplaced, partition, stored.Next)
	case stored.LogID != "" && id != "" && stored.LogID != id:
		return first, end, fmt.Errorf("%w: %s: the topic was deleted and made again since %d records of it were applied", ErrReplaced,
			partition, stored.Next)
	case stored.Next > end:
		return first, end, fmt.Errorf("%w: %s: stored %d, log ends at %d", ErrPastEnd, partition, stored.Next, end)
	case stored.Next < first:
		return first, end, fmt.Errorf("%w: %s: stored %d, log begins at %d", ErrRetained, partition, stored.Next, first)
	case stored.Next == first || !facts.LastIsBefore(stored.Last, stored.Next):
		return first, end, nil
	}
	last, found, err := log.RecordAt(ctx, stored.Topic, stored.Partition, stored.Next-1)
	if err != nil {
		return first, end, err
	}
	if found && !facts.SameRecord(stored.Last, last) {
		return first, end, fmt.Errorf("%w: %s: another record stands at %d, before the stored offset", ErrReplaced, partition, stored.Next-1)
	}
	return first, end, nil
}

// looked is what this member saw last of the topics and the stored offsets, once for all of
// its owners.
type looked struct {
	mu     sync.Mutex
	at     time.Time
	ids    map[string]string // by topic
	epochs map[partitionKey]int64
}

type partitionKey struct {
	topic     string
	partition int
}

// lookTimeout bounds a look: while Kafka or PostgreSQL does not answer, owners go on with what
// they have.
const lookTimeout = 2 * time.Second

// stillOwns returns an error where a topic is not the one any more that the owner reads
// (ErrReplaced), or somebody has taken the partition over or reset it (facts.ErrFenced). It
// looks no more often than Config.CheckLogEvery.
func (o *owner) stillOwns(ctx context.Context) error {
	l := &o.looked
	l.mu.Lock()
	due := o.Now().Sub(l.at) >= o.config.CheckLogEvery
	if due {
		l.at = o.Now() // after a failure too: the other owners are not to wait as well
	}
	l.mu.Unlock()
	if due {
		limited, cancel := context.WithTimeout(ctx, lookTimeout)
		err := o.look(limited)
		cancel()
		if err != nil && ctx.Err() == nil {
			o.Logger.Warn("the topics and offsets could not be looked at", "error", err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, topic := range wire.Processed {
		if seen, mine := l.ids[topic], o.logID[topic]; seen != "" && mine != "" && seen != mine {
			return fmt.Errorf("%w: %s/%d: the topic was deleted and made again", ErrReplaced, topic, o.partition)
		}
		if epoch := l.epochs[partitionKey{topic, o.partition}]; epoch > o.epoch[topic] { // a lower one was read before the takeover
			return fmt.Errorf("%w: %s/%d: taken over or reset", facts.ErrFenced, topic, o.partition)
		}
	}
	return nil
}

func (p *Processor) look(ctx context.Context) error {
	ids, epochs := map[string]string{}, map[partitionKey]int64{}
	for _, topic := range wire.Processed {
		id, err := p.Log.TopicID(ctx, topic)
		if err != nil {
			return err
		}
		ids[topic] = id
	}
	stored, err := p.Store.Offsets(ctx)
	if err != nil {
		return err
	}
	for _, s := range stored {
		epochs[partitionKey{s.Topic, s.Partition}] = s.Epoch
	}
	p.looked.mu.Lock()
	defer p.looked.mu.Unlock()
	p.looked.ids, p.looked.epochs = ids, epochs
	return nil
}
