package factstore

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

// The credits of an order are one text in the row of its payout, a line for each touch.
// The view credit has them as rows. The fields of a line are
//
//	position, channel, influencer, campaign, and an amount for each of facts.Models
//
// and an empty one is null: a model without an amount leaves the touch out. An id that is
// a UUID is written in base64 without padding, 22 characters; before another stands "=".
const (
	creditLine  = "\x1e"
	creditField = "\x1f"
)

const creditFields = 4 + facts.ModelCount

// errCreditText means that a name has a separator of lines or fields: commerce lets
// none in. The order is quarantined.
var errCreditText = fmt.Errorf("%w: a channel or an id has a control character", facts.ErrData)

// creditsText returns credits as they are stored. Which touch it is, is told by its
// position alone: Credit.TouchID is not stored.
func creditsText(credits []facts.Credit) (string, error) {
	var text []byte
	for i := range credits {
		c := &credits[i]
		if i > 0 {
			text = append(text, creditLine...)
		}
		text = strconv.AppendInt(text, int64(c.Position), 10)
		for _, field := range [...]string{c.Channel, shortID(c.InfluencerID), shortID(c.CampaignID)} {
			if strings.ContainsAny(field, creditLine+creditField) {
				return "", errCreditText
			}
			text = append(append(text, creditField...), field...)
		}
		for _, part := range c.Parts {
			text = append(text, creditField...)
			if part.Given {
				text = strconv.AppendInt(text, part.Minor, 10)
			}
		}
	}
	return string(text), nil
}

func shortID(id string) string {
	if id == "" {
		return ""
	}
	if u, ok := uuidtext.Parse(id); ok {
		return base64.RawStdEncoding.EncodeToString(u[:])
	}
	return "=" + id
}

func longID(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if id, other := strings.CutPrefix(text, "="); other {
		return id, nil
	}
	bytes, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return "", err
	}
	id, err := uuid.FromBytes(bytes)
	return id.String(), err
}

// credits scans what creditsText wrote.
type credits []facts.Credit

// ScanText implements pgtype.TextScanner.
func (list *credits) ScanText(v pgtype.Text) error {
	*list = nil
	if v.String == "" {
		return nil
	}
	for line := range strings.SplitSeq(v.String, creditLine) {
		c, err := readCredit(strings.Split(line, creditField))
		if err != nil {
			return fmt.Errorf("credits of an order: %w", err)
		}
		*list = append(*list, c)
	}
	return nil
}

func readCredit(fields []string) (c facts.Credit, err error) {
	if len(fields) != creditFields {
		return c, fmt.Errorf("%d fields, want %d", len(fields), creditFields)
	}
	if c.Position, err = strconv.Atoi(fields[0]); err != nil {
		return c, err
	}
	c.Channel = fields[1]
	if c.InfluencerID, err = longID(fields[2]); err != nil {
		return c, err
	}
	if c.CampaignID, err = longID(fields[3]); err != nil {
		return c, err
	}
	for i, text := range fields[4:] {
		if text == "" {
			continue
		}
		c.Parts[i].Given = true
		if c.Parts[i].Minor, err = strconv.ParseInt(text, 10, 64); err != nil {
			return c, err
		}
	}
	return c, nil
}
