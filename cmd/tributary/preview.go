package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/commerce"
	pgpreview "github.com/tributary-io/tributary/internal/postgres/preview"
	"github.com/tributary-io/tributary/internal/preview"
)

// previewFlags say how a preview is made and shown.
type previewFlags struct {
	asked  bool // of a command that else makes the change
	asJSON bool
	limits preview.Limits
}

func (p *previewFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&p.asJSON, "json", false, "write what is moved, or what was changed, as JSON, for programs")
	flags.IntVar(&p.limits.Orders, "orders", 20_000, "compute at most so many orders for the preview, the newest")
	durationVar(flags, &p.limits.Time, "time", 5*time.Minute, "stop computing orders for the preview after so long")
}

// change makes a change, or shows what it would move where that is asked.
func (p *previewFlags) change(ctx context.Context, cmd *cobra.Command, db stores, company string, change preview.Change) error {
	if !p.asked {
		return change(ctx)
	}
	found, err := p.previewer(db).Preview(ctx, company, change)
	if err != nil {
		return err
	}
	return p.show(cmd.OutOrStdout(), found)
}

func (p *previewFlags) previewer(db stores) *preview.Previewer {
	limits := p.limits
	limits.Counted = max(limits.Orders, 1_000_000)
	return preview.New(pgpreview.New(db.db), limits)
}

// previewExample is a change as a shell takes it.
const previewExample = `'{"type":"coupon.create","campaign_id":"inverno-26","cupom":"ANA30"}'`

func newPreview() *cobra.Command {
	var shows previewFlags
	cmd := companyCommand("preview CHANGE", "Say what a change of rules would move, and change nothing", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			if !json.Valid([]byte(args[0])) {
				return fmt.Errorf("CHANGE %q is not JSON: write it as %s", args[0], previewExample)
			}
			found, err := admin.PreviewChange(ctx, db, shows.previewer(db), company, actor, []byte(args[0]))
			if err != nil {
				return err
			}
			return shows.show(cmd.OutOrStdout(), found)
		})
	cmd.Long = `Say which orders a change of rules would move, how much, and from whom to whom.
Nothing is changed. CHANGE is JSON as in the field "change" of POST /preview: the
body of the request that makes the change, and its type (influencer.create,
influencer.update, influencer.archive, influencer.restore, coupon.create,
coupon.delete, cost.create, cost.delete, order.evidence). For settings: tributary company set COMPANY --preview.`
	cmd.Example = "  tributary preview --company c_… " + previewExample
	shows.register(cmd.Flags())
	return cmd
}

// show writes a preview.
func (p *previewFlags) show(out io.Writer, found *preview.Answer) error {
	if p.asJSON {
		return writeJSON(out, found)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(found.Moves) > 0 {
		fmt.Fprintln(table, "ORDER\tCREATED\tFROM\tTO\tDIFFERENCE")
	}
	for _, m := range found.Moves {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", printable(m.OrderID), moment(m.CreatedAt), shareWords(m.From),
			shareWords(m.To), sumWords(m.Amount))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, previewWords(found))
	table = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, t := range found.Totals {
		fmt.Fprintf(table, "%s\t%s\t%s\tbefore %s\tafter %s\n", printable(t.Influencer), t.State, sumWords(t.Amount),
			sumWords(t.Before), sumWords(t.After))
	}
	for _, c := range found.Credit {
		fmt.Fprintf(table, "credit by %s\t%s\t%s\t\t\n", c.Model, printable(c.Channel), sumWords(c.Amount))
	}
	return table.Flush()
}

// previewWords counts orders in a sentence.
func previewWords(found *preview.Answer) string {
	o := found.Orders
	text := fmt.Sprintf("The change moves the payout of %d orders and the channel credit of %d, of %d that were computed.", o.Moved,
		o.Credited, o.Computed)
	more := ""
	if o.More {
		more = "at least "
	}
	switch found.Cut {
	case preview.CutOrders:
		text += fmt.Sprintf(" It may move %s%d older ones too: give --orders.", more, o.LeftOut)
	case preview.CutTime:
		text += fmt.Sprintf(" It may move %s%d older ones too: give --time.", more, o.LeftOut)
	}
	if o.Moved > len(found.Moves) {
		text += fmt.Sprintf(" The newest %d moves are shown.", len(found.Moves))
	}
	return text
}

// shareWords says who has what.
func shareWords(s *preview.Share) string {
	if s == nil {
		return "nobody"
	}
	text := fmt.Sprintf("%s %s (%s, %s)", printable(s.Influencer), sumWords(s.Amount), s.Evidence, s.State)
	if s.PayableOn != "" {
		text += " from " + s.PayableOn
	}
	return text
}

// sumWords writes a sum in its currency's units.
func sumWords(s commerce.Sum) string {
	return commerce.FormatSum(s.Minor, s.Currency) + " " + s.Currency
}
