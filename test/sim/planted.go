package sim

const (
	commitFile   = "internal/seglog/commit.go"
	openFile     = "internal/seglog/open.go"
	laneFile     = "internal/produce/lane.go"
	awayFile     = "internal/produce/away.go"
	drainFile    = "internal/produce/drain.go"
	deliveryFile = "edge/delivery.go"
	duplicates   = "edge/duplicates.go"
	sendFile     = "sdk/send.go"
	applyFile    = "processor/apply.go"
)

// Planted are bugs of the kinds that this code could have. Each is found by its
// seed, always in the same way while the code stays as it is.
func Planted() []Bug {
	return []Bug{
		{
			Name: "a record is acknowledged before it is synced",
			Changes: []Change{{commitFile, `	if err := s.file.Sync(); err != nil {
`, `	go s.file.Sync()
	if err := error(nil); err != nil {
`}},
			Seed:  1,
			Finds: "neither in Kafka nor durable",
		},
		{
			Name: "a failed sync is tried again, and then believed",
			Changes: []Change{{commitFile, `	if err := s.file.Sync(); err != nil {
`, `	if err := s.file.Sync(); err != nil && s.file.Sync() != nil {
`}},
			Seed:  1,
			Finds: "neither in Kafka nor durable",
		},
		{
			Name: "that records are sent is not written",
			Changes: []Change{{commitFile, `		buffer = appendRecord(buffer, laneMarks, seq, mark(m.lane, m.seq))
		seq++
`, `		_ = m
`}},
			Seed:  1,
			Finds: "again after a crash",
		},
		{
			Name: "a new file's name is not made durable",
			Changes: []Change{{commitFile, `		err = l.options.FS.SyncDir(l.dir)
	}
	l.mu.Lock()`, `	}
	l.mu.Lock()`}},
			Seed:  1,
			Finds: "is lost",
		},
		{
			Name: "a torn record is adopted",
			Changes: []Change{{openFile, `	if crc32.Update(crc32.Checksum(header[4:], castagnoli), castagnoli, r.payload) != sum {
`, `	if crc32.Update(crc32.Checksum(header[4:], castagnoli), castagnoli, r.payload) == sum+1 {
`}},
			Seed:  1,
			Finds: "that nobody sent",
		},
		{
			Name: "a drain ends after its first part",
			Changes: []Change{{drainFile, `			if kept.All {
				l.beginEnding(away)
			}
			continue
`, `			l.mu.Lock()
			l.course = direct
			l.mu.Unlock()
			return true
`}},
			Seed:  1,
			Finds: "order",
		},
		{
			Name: "what was never sent is taken from the spool as sent",
			Changes: []Change{{awayFile, `	if sent && err == nil {
		l.handed.last`, `	if err == nil {
		l.handed.last`}},
			Seed:  1,
			Finds: "is lost",
		},
		{
			Name: "a produce that is not answered counts as acknowledged",
			Changes: []Change{{laneFile, `		case err == nil:
			l.settle(batch, Kafka, nil)`, `		case err == nil || ctx.Err() != nil:
			l.settle(batch, Kafka, nil)`}},
			Seed:  1,
			Finds: "neither in Kafka nor durable",
		},
		{
			Name: "the ending phase of a drain is left out",
			Changes: []Change{{drainFile, `	if l.course != ending && !l.closed {
`, `	if false {
`}},
			Seed:  1,
			Finds: "under steady traffic",
		},
		{
			Name: "a twin is a duplicate before its first copy is acknowledged",
			Changes: []Change{{deliveryFile, `			if other != nil && other != d.attempt {
`, `			if other != nil && other == d.attempt {
`}},
			Seed:  1,
			Finds: "is answered duplicate and is neither",
		},
		{
			Name: "a record that Kafka refuses for good is thrown away",
			Changes: []Change{{drainFile, `			if err = l.batcher.config.Spool.Quarantine(l.partition(), one); err != nil {
`, `			if err = nil; err != nil {
`}},
			Seed:  1,
			Finds: "is lost",
		},
		{
			Name: "the ids of a failed request are remembered",
			Changes: []Change{{duplicates, `		if ok {
			s.bucket(id).put(id)
		}
`, `		s.bucket(id).put(id)
`}},
			Seed:  1,
			Finds: "is answered duplicate and is neither",
		},
		{
			Name: "the SDK drops a batch that gets 503",
			Changes: []Change{{sendFile, `		case err == nil && refused.known():
`, `		case err == nil && status == http.StatusServiceUnavailable:
			c.queue.drop(len(batch))
			return
		case err == nil && refused.known():
`}},
			Seed:  1,
			Finds: "an SDK's queue",
		},
		{
			Name: "offsets are committed before the facts",
			Changes: []Change{{applyFile, `		done = applied{observed: b.observed.again()}
		if err := tx.Offsets.MoveOffsets(ctx, b.clusterID, b.moves); err != nil {
			return err
		}
`, `		done = applied{observed: b.observed.again()}
`}, {applyFile, `	err = p.Store.Transact(ctx, func(tx Tx) error {
		done = applied{observed: b.observed.again()}`, `	err = p.Store.Transact(ctx, func(tx Tx) error {
		return tx.Offsets.MoveOffsets(ctx, b.clusterID, b.moves)
	})
	if err != nil {
		return done, err
	}
	err = p.Store.Transact(ctx, func(tx Tx) error {
		done = applied{observed: b.observed.again()}`}},
			Seed:  1,
			Finds: "is lost",
		},
	}
}
