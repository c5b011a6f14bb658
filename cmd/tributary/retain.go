package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/upkeep/retention"
	"github.com/tributary-io/tributary/processor"
)

func newRetain() *cobra.Command {
	var company string
	var dryRun bool
	var report reportFlag
	cmd := databaseCommand(&cobra.Command{
		Use:   "retain",
		Short: "Remove events that are older than their company's retention",
		Long: `Remove events that are older than "tributary company set --retention-days" says,
of all companies or one. Orders that read them are snapshotted first: what was credited
and is owed stays, and what the merchant changes later has the same effect as before.

The processors do this once a day by themselves. It works in short transactions,
beside running processors, and may be stopped at any moment: the next run goes on.
With --dry-run nothing is changed: it tells what would be removed.`,
		Example: `  tributary retain --dry-run
  tributary retain --company c_…`,
		Args: noArguments,
	}, func(ctx context.Context, cmd *cobra.Command, db stores, _ []string) error {
		if company != "" {
			found, err := findCompany(ctx, db, company)
			if err != nil {
				return err
			}
			if found.RetentionDays == 0 {
				return fmt.Errorf("company %s keeps its events for ever: `tributary company set %[1]s --retention-days …` changes that", company)
			}
		}
		done := retentionReport{DryRun: dryRun, Companies: []retainedCompany{}, DroppedPartitions: []string{}}
		err := done.retain(ctx, report.text(cmd), factstore.New(db.db), company)
		return errors.Join(report.write(cmd, done), err)
	})
	report.register(cmd, retentionReport{DryRun: true, Companies: []retainedCompany{{"c_…", "2026-01-31", 7, 900, 40, 12}},
		DroppedPartitions: []string{"event_fact_2025_12"}})
	cmd.Flags().StringVar(&company, "company", "", "of this company alone")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "change nothing, and tell what would be removed")
	return cmd
}

// retentionReport is what retain did, or would do, as JSON.
type retentionReport struct {
	DryRun            bool              `json:"dry_run"`
	Companies         []retainedCompany `json:"companies"`
	DroppedPartitions []string          `json:"dropped_partitions"` // months that were empty
}

// retainedCompany is what was removed of one company.
type retainedCompany struct {
	CompanyID    string `json:"company_id"`
	Before       string `json:"before,omitempty"` // YYYY-MM-DD; of a dry run
	Snapshots    int    `json:"orders_snapshotted"`
	Events       int    `json:"events"`
	Observations int    `json:"observations"`
	VisitorDays  int    `json:"visitor_days"`
}

func (d *retentionReport) add(company, before string, sum retention.Removed) {
	d.Companies = append(d.Companies, retainedCompany{company, before, sum.Snapshots, sum.Events, sum.Observations, sum.Shoppers})
}

// retain removes what is old of one company, or of all that have a retention where it is
// empty. A company that fails does not keep the others from it.
func (d *retentionReport) retain(ctx context.Context, out io.Writer, store *factstore.Store, company string) error {
	dryRun := d.DryRun
	var list []retention.Progress
	var err error
	if company == "" {
		list, err = store.Retentions(ctx)
	} else {
		list = make([]retention.Progress, 1)
		list[0], err = store.Retention(ctx, company)
	}
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(out, "No company has a retention: all events are kept for ever.")
	}
	p := processor.New(processor.Config{}, processor.Deps{Store: processor.StoreOf(store)})
	var failed []error
	for _, r := range list {
		if dryRun {
			from, counted, err := p.PreviewRetain(ctx, r)
			if err != nil {
				failed = append(failed, err)
				continue
			}
			d.add(r.CompanyID, from.Format(time.DateOnly), counted)
			fmt.Fprintf(out, "%s: %d events before %s and %d visitors' days would be removed, %d orders would be snapshotted first\n",
				r.CompanyID, counted.Events, from.Format(time.DateOnly), counted.Shoppers, counted.Snapshots)
			continue
		}
		sum, err := p.Retain(ctx, r, processor.AnyPartition, nil)
		d.add(r.CompanyID, "", sum)
		fmt.Fprintf(out, "%s: %d orders snapshotted; %d events, %d observations and %d visitors' days removed\n", r.CompanyID,
			sum.Snapshots, sum.Events,
			sum.Observations, sum.Shoppers)
		if ctx.Err() != nil {
			return fmt.Errorf("stopped; the next run goes on: %w", ctx.Err())
		}
		failed = append(failed, err)
	}
	if !dryRun && len(list) > 0 {
		dropped, err := store.DropEmptyMonths(ctx, time.Now())
		failed = append(failed, err)
		d.DroppedPartitions = append(d.DroppedPartitions, dropped...)
		for _, name := range dropped {
			fmt.Fprintln(out, "dropped the empty partition", name)
		}
	}
	return errors.Join(failed...)
}
