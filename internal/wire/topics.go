package wire

import "slices"

// The topics. Those of Processed are co-partitioned by companyId (Murmur2).
const (
	TopicEvents    = "events.v1"    // what shoppers do; key companyId
	TopicCommerce  = "commerce.v1"  // what the merchant says; key companyId
	TopicBulk      = "bulk.v1"      // orders that were sent many at once, as in Commerce; key companyId
	TopicDirectory = "directory.v1" // compacted, one partition; key company/<id>, link/<code> or key/<hash>
	TopicRejected  = "rejected.v1"  // records refused, with their reason; key companyId
	TopicResults   = "results.v1"   // hints for live views; key companyId
)

// Processed are the topics that the processor reads, those first that go first.
var Processed = []string{TopicCommerce, TopicEvents, TopicBulk}

// Topics are all topics, which migrate makes.
var Topics = append(slices.Clone(Processed), TopicDirectory, TopicRejected, TopicResults)
