package kafka

import "context"

// IsGap is isGap, which only a compacted log's end reaches through Follow.
func (c *Client) IsGap(ctx context.Context, topic string, partition int, from, end int64) bool {
	return c.isGap(ctx, topic, partition, from, end)
}
