package report

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"
	"golang.org/x/sync/errgroup"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/models"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/reports"
)

// This file computes the report channels by the models that divide the orders of a whole
// period together. What they need of the paths are sums, so each day's paths are added as
// they are read, and no list of paths is kept.

// maxModelPaths bounds the paths of days that a model of many paths reads. The statement
// reads one more.
const maxModelPaths = 4_000_000

// pathsOfModels are the paths of each day: how many days after the first it is, and what
// came of them.
const pathsOfModels = `
	select s.day - @from::date, orders, sales_minor, path
	from path_day s` + inLooseDays + ` and orders > 0 limit 4000001`

// partsOfModels are the parts of the whole months' paths that a model needs: the ends, and
// the steps for markov, the others for shapley.
const partsOfModels = `
	select s.month - @from::date, size, before, channel, orders, case when size > 0 or channel = '' then sales_minor end
	from journey_month s` + inMonths +
	` and orders > 0 and (s.size = 0 and s.channel = '' or (s.size = 0) = (@model::text = 'markov')) limit 4000001`

// formatsOfPaths are how PostgreSQL writes the columns of pathsOfModels: as is quick to
// read.
var formatsOfPaths = pgx.QueryResultFormats{pgx.BinaryFormatCode, pgx.BinaryFormatCode, pgx.TextFormatCode, pgx.BinaryFormatCode}

// formatsOfParts are the same of partsOfModels.
var formatsOfParts = pgx.QueryResultFormats{pgx.BinaryFormatCode, pgx.BinaryFormatCode, pgx.TextFormatCode, pgx.TextFormatCode,
	pgx.BinaryFormatCode, pgx.TextFormatCode}

// pathReader adds the rows of pathsOfModels to the tallies of their periods.
type pathReader struct {
	periods   []int           // the place of each day's period
	tallies   []*models.Tally // by period; nil: no orders
	places    map[string]int32
	renamed   map[string]string   // present names of influencers, by the folded ones of before
	names     []string            // of channels, by their places
	untouched []map[string]totals // by period: channels of orders without a journey, which markov leaves out
	model     string
	path      [][]byte // the channels of the row that is read
	channels  []int32  // their places
}

// totals are what orders come to.
type totals struct{ orders, sales *big.Int }

// addUntouched adds orders that came by no journey: all of them is their channel's.
func (p *pathReader) addUntouched(period int, channel string, orders, sales int64, great *big.Int) {
	if p.untouched[period] == nil {
		p.untouched[period] = map[string]totals{}
	}
	t, known := p.untouched[period][channel]
	if !known {
		t = totals{new(big.Int), new(big.Int)}
		p.untouched[period][channel] = t
	}
	if great == nil {
		great = big.NewInt(sales)
	}
	t.orders.Add(t.orders, big.NewInt(orders))
	t.sales.Add(t.sales, great)
}

// leavesOut reports whether markov leaves a channel out. Such a channel is in no path with others.
func (p *pathReader) leavesOut(channel []byte) bool {
	return p.model == models.Markov && attribution.IsUntouched(string(channel))
}

func (p *pathReader) add(row [][]byte) error {
	if len(row[0]) != 4 || len(row[1]) != 8 {
		return errors.New("numbers of a path are not binary")
	}
	period, orders := p.periods[binary.BigEndian.Uint32(row[0])], int64(binary.BigEndian.Uint64(row[1]))
	sales, great, err := salesOf(row[2])
	if err != nil {
		return err
	}
	if err := p.read(row[3]); err != nil {
		return err
	}
	if len(p.path) == 1 && p.leavesOut(p.path[0]) {
		p.addUntouched(period, string(p.path[0]), orders, sales, great)
		return nil
	}
	p.channels = p.channels[:0]
	for _, channel := range p.path {
		p.channels = append(p.channels, p.place(channel))
	}
	p.tally(period).Add(p.channels, orders, sales, great)
	return nil
}

// tally returns the tally of a period.
func (p *pathReader) tally(period int) *models.Tally {
	if p.tallies[period] == nil {
		p.tallies[period] = models.NewTally(p.model)
	}
	return p.tallies[period]
}

// addPart adds a row of partsOfModels: a part of a month's paths.
func (p *pathReader) addPart(row [][]byte) error {
	if len(row[0]) != 4 || len(row[1]) != 4 || len(row[4]) != 8 {
		return errors.New("numbers of a part of paths are not binary")
	}
	day, size, orders := binary.BigEndian.Uint32(row[0]), int(binary.BigEndian.Uint32(row[1])), int64(binary.BigEndian.Uint64(row[4]))
	before, channel := row[2], row[3]
	period := p.periods[day]
	if size == 0 && len(channel) > 0 {
		if p.leavesOut(channel) {
			return nil
		}
		from := int32(-1) // the start
		if len(before) > 0 {
			from = p.place(before)
		}
		p.tally(period).AddStep(from, p.place(channel), orders)
		return nil
	}
	sales, great, err := salesOf(row[5])
	if err != nil {
		return err
	}
	switch {
	case size > 0:
		p.tally(period).AddSet(size, p.place(channel), orders, sales, great)
	case p.leavesOut(before):
		p.addUntouched(period, string(before), orders, sales, great)
	default:
		p.tally(period).AddEnd(p.place(before), orders, sales, great)
	}
	return nil
}

// salesOf reads a whole number as PostgreSQL writes it; great is one of more than 63 bits.
func salesOf(text []byte) (sales int64, great *big.Int, err error) {
	if sales, err = strconv.ParseInt(string(text), 10, 64); err == nil {
		return sales, nil, nil
	}
	great, ok := new(big.Int).SetString(string(text), 10)
	if !ok {
		return 0, nil, fmt.Errorf("sales of a path: %q", text)
	}
	return 0, great, nil
}

// tooMany is an error where the model cannot divide among so many channels.
func (p *pathReader) tooMany() error {
	if p.model == models.Markov && len(p.names) > reports.MaxMarkovChannels {
		return reports.ErrTooManyChannels
	}
	return nil
}

// read reads the channels of a path: a text[] without nulls in the binary format, which
// has a head of five numbers, and of each text its length and its bytes.
func (p *pathReader) read(path []byte) error {
	const head, number = 20, 4
	p.path = p.path[:0]
	for rest := path[min(head, len(path)):]; len(rest) > 0; {
		if len(rest) < number {
			return errPath
		}
		size := int64(binary.BigEndian.Uint32(rest))
		if rest = rest[number:]; int64(len(rest)) < size {
			return errPath
		}
		p.path = append(p.path, rest[:size])
		rest = rest[size:]
	}
	if len(p.path) == 0 {
		return errPath
	}
	return nil
}

var errPath = errors.New("a path is no list of channels")

// place returns the place of a channel.
func (p *pathReader) place(name []byte) int32 {
	place, known := p.places[string(name)]
	if !known {
		place = int32(len(p.names))
		p.names = append(p.names, string(name))
		p.places[string(name)] = place
	}
	return place
}

// channelsOverPaths adds what a model of many paths credits to each channel, period by
// period.
func (r *reading) channelsOverPaths(ctx context.Context) error {
	periods := r.query.Periods()
	paths := &pathReader{tallies: make([]*models.Tally, len(periods)), untouched: make([]map[string]totals, len(periods)),
		places: map[string]int32{}, model: r.query.Model}
	first, last := r.query.Days()
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		paths.periods = append(paths.periods, slices.Index(periods, r.query.PeriodOf(day)))
	}
	// The paths of days that are in no whole month, and the parts of the whole months' paths.
	if err := r.readPaths(ctx, paths, paths.add, pathsOfModels, formatsOfPaths); err != nil {
		return err
	}
	if _, _, some := r.query.Months(); some {
		if err := r.readPaths(ctx, paths, paths.addPart, partsOfModels, formatsOfParts); err != nil {
			return err
		}
	}
	if r.query.Model == models.Markov {
		if err := r.readNonConverting(ctx, paths); err != nil {
			return err
		}
	}
	influencers, err := r.influencersOfChannels(ctx)
	if err != nil {
		return err
	}
	r.later = func(ctx context.Context) error { return r.creditChannels(ctx, paths, influencers) }
	return nil
}

// creditChannels computes what each channel gets of the paths that were read.
func (r *reading) creditChannels(ctx context.Context, paths *pathReader, influencers map[string]string) error {
	periods := r.query.Periods()
	credits, err := paths.credits(ctx, r.known)
	if err != nil {
		return err
	}
	columns := r.columns("credited_orders", "credited_sales")
	for i, list := range credits {
		for _, c := range list {
			if err := r.Add(periods[i], []string{c.channel, influencers[c.channel]}, columns, []decimal.Decimal{c.orders, c.sales}); err != nil {
				return err
			}
		}
	}
	return nil
}

// readPaths calls add with each row of a statement about paths.
func (r *reading) readPaths(ctx context.Context, paths *pathReader, add func(row [][]byte) error, sql string,
	formats pgx.QueryResultFormats) error {
	rows, err := r.tx.Query(ctx, sql, formats, r.args(sql))
	if err != nil {
		return err
	}
	defer rows.Close()
	for n := 1; rows.Next(); n++ {
		if n > maxModelPaths {
			return reports.ErrTooManyRows
		}
		if err := add(rows.RawValues()); err != nil {
			return err
		}
		if err := paths.tooMany(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// channelCredit is what a model gives to a channel.
type channelCredit struct {
	channel       string
	orders, sales decimal.Decimal
}

// credits returns what each channel gets, by period. Periods are computed side by side.
func (p *pathReader) credits(ctx context.Context, known *remembered) ([][]channelCredit, error) {
	if p.tooManyOfPeriods() {
		return nil, reports.ErrTooManyChannels
	}
	all := make([][]channelCredit, len(p.tallies))
	for i, channels := range p.untouched {
		for channel, t := range channels {
			all[i] = append(all[i], channelCredit{channel, decimal.NewFromBigInt(t.orders, 0), decimal.NewFromBigInt(t.sales, 0)})
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, tally := range p.tallies {
		if tally == nil {
			continue
		}
		group.Go(func() error {
			credits, err := p.creditsOf(ctx, tally, known)
			all[i] = append(all[i], credits...)
			return err
		})
	}
	return all, group.Wait()
}

// tooManyOfPeriods reports whether markov would compute more than is remembered: a report that takes too
// long could not go on from what it has computed.
func (p *pathReader) tooManyOfPeriods() bool {
	all := 0
	for _, t := range p.tallies {
		if t != nil && p.model == models.Markov {
			all += len(t.Channels())
		}
	}
	return all > reports.MaxMarkovOfPeriods
}

func (p *pathReader) creditsOf(ctx context.Context, tally *models.Tally, known *remembered) ([]channelCredit, error) {
	channels := tally.Channels()
	// Sorted, so that what is left over by rounding always goes to the same one.
	slices.SortFunc(channels, func(a, b int32) int { return strings.Compare(p.names[a], p.names[b]) })
	weights, err := known.weightsOf(ctx, tally, channels)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(channels, func(c int32) bool { return p.names[c] == otherChannels }); i >= 0 {
		weights = models.Weights{Conversions: slices.Clone(weights.Conversions), Value: slices.Clone(weights.Value)}
		weights.Conversions[i], weights.Value[i] = new(big.Int), new(big.Int)
	}
	conversions, value := tally.Totals()
	orders, sales := portions(conversions, weights.Conversions), wholes(value, weights.Value)
	list := make([]channelCredit, len(channels))
	for j, channel := range channels {
		list[j] = channelCredit{p.names[channel], orders[j], sales[j]}
	}
	return list, nil
}

// influencersOfChannels returns the ids of the influencers whose names are channels. Of
// influencers who had a name one after another it is the last: a path has names alone.
func (r *reading) influencersOfChannels(ctx context.Context) (map[string]string, error) {
	return postgres.Map[string, string](ctx, r.tx, `
		select distinct on (c.channel) c.channel, c.influencer_id
		from (select distinct channel, influencer_id from credit_day
			where company_id = $1 and day between $2::date and $3::date and influencer_id <> '') c
		left join influencer i on i.company_id = $1 and i.influencer_id = c.influencer_id::uuid
		order by c.channel, i.created_at desc, c.influencer_id`, r.query.CompanyID, r.query.Start, r.query.End)
}

// creditedDigits are the decimal places of orders that a model of many paths credits.
const creditedDigits = 6

// portions divides a whole number by weights, with creditedDigits decimal places. The
// parts sum to the total.
func portions(total *big.Int, weights []*big.Int) []decimal.Decimal {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(creditedDigits), nil)
	parts := wholes(new(big.Int).Mul(total, unit), weights)
	for i := range parts {
		parts[i] = parts[i].Shift(-creditedDigits)
	}
	return parts
}

// wholes divides minor units by weights, by the largest remainder. The parts sum to the
// total; without a weight that is above zero there is nothing to divide.
func wholes(total *big.Int, weights []*big.Int) []decimal.Decimal {
	parts := make([]decimal.Decimal, len(weights))
	sum := new(big.Int)
	for _, w := range weights {
		sum.Add(sum, w)
	}
	if sum.Sign() == 0 {
		return parts
	}
	for i, part := range models.Divide(total, weights) {
		parts[i] = decimal.NewFromBigInt(part, 0)
	}
	return parts
}
