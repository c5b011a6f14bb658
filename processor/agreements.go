package processor

// This file closes the days of stores, and posts what was agreed with influencers as fixed amounts.

import (
	"context"
	"errors"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
)

const (
	// agreementsEvery is the pause between two looks for days to close.
	agreementsEvery = time.Minute
	// agreementChunk is of how many influencers one transaction posts agreements. The number was chosen, not measured.
	agreementChunk = 20
)

// agreementsNext closes the store's days until yesterday, and brings the ledgers of agreements up to what they owe by then. more:
// some wait. Which day is closed follows from the clock, so it is stored: a replay takes it from there, and closes none.
func (a *application) agreementsNext(ctx context.Context) (more bool, err error) {
	if !a.replayed {
		today, err := time.Parse(time.DateOnly, a.index.DayOf(a.now))
		if err != nil {
			return false, err
		}
		if err := a.tx.Statements.CloseDay(ctx, a.company, today.AddDate(0, 0, -1).Format(time.DateOnly)); err != nil {
			return false, err
		}
	}
	list, closed, more, err := a.tx.Statements.TakeAgreements(ctx, a.company, agreementChunk)
	if err != nil || len(list) == 0 {
		return more, err
	}
	accounts := make([]string, len(list))
	for i := range list {
		accounts[i] = list[i].Account()
	}
	posted, err := a.tx.Outcomes.Ledgers(ctx, a.company, accounts)
	if err != nil {
		return false, err
	}
	var postings []ledger.Posting
	for i, account := range accounts {
		for _, e := range ledger.Post(posted[account], ledger.Lines(list[i], closed)) {
			postings = append(postings, ledger.Posting{Entry: e, OrderID: account, Cause: facts.Cause{Kind: facts.CauseAgreement}})
		}
	}
	return more, a.tx.Outcomes.AppendLedger(ctx, a.company, a.now, a.index.Rev(), postings)
}

// closeDaysDue closes the days that are due of the stores of this member's partitions. A company that fails does not keep the others
// waiting.
func (p *Processor) closeDaysDue(ctx context.Context) error {
	list, err := p.Store.AgreementsDue(ctx, p.Now())
	if err != nil {
		return err
	}
	var failed []error
	err = p.eachOf(ctx, list, func(company string, partition int) error {
		var err error
		for more := p.keepsUp(partition); more && err == nil; {
			more, err = p.CloseDays(ctx, company, partition)
		}
		failed = append(failed, err)
		return nil
	})
	return errors.Join(append(failed, err)...)
}

// CloseDays closes a company's days until yesterday, and posts agreements of some influencers, while the partition's owner waits.
// more: others wait.
func (p *Processor) CloseDays(ctx context.Context, companyID string, partition int) (more bool, err error) {
	index, err := p.indexOf(ctx, companyID)
	if err != nil {
		return false, err
	}
	err = p.besideTx(ctx, index, func(ctx context.Context, a *application) (err error) {
		if err := a.tx.Offsets.LockPartition(ctx, partition); err != nil {
			return err
		}
		more, err = a.agreementsNext(ctx)
		return err
	})
	return more, err
}
