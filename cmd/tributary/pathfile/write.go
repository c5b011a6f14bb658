package pathfile

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math/big"

	"github.com/tributary-io/tributary/internal/models"
)

// decimals is how many decimals a result has.
const decimals = 10

// Row is what one model gives one channel.
type Row struct {
	Channel     string      `json:"channel"`
	Model       string      `json:"model"`
	Conversions json.Number `json:"conversions"` // ten decimals
	Value       json.Number `json:"value"`       // ten decimals
}

// Credits returns the rows of all channels under all models: the channels in the
// order of their first appearance, the models in that of models.All.
func (p *Paths) Credits() []Row {
	rows := make([]Row, len(p.Channels)*len(models.All))
	conversions, value := models.Totals(p.List)
	for m, model := range models.All {
		weights := models.OverPaths(model, p.List, p.Direct)
		c := amounts(conversions, weights.Conversions, p.ConversionDigits)
		v := amounts(value, weights.Value, p.ValueDigits)
		for i, channel := range p.Channels {
			rows[i*len(models.All)+m] = Row{channel, model, c[i], v[i]}
		}
	}
	return rows
}

// amounts divides a total, in units of 10^-digits, by weights. Each amount is
// rounded to the nearest by itself, half away from zero.
func amounts(total *big.Int, weights []*big.Int, digits int) []json.Number {
	whole := new(big.Int)
	for _, w := range weights {
		whole.Add(whole, w)
	}
	list := make([]json.Number, len(weights))
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	for i, w := range weights {
		amount := new(big.Rat)
		if whole.Sign() != 0 {
			amount.SetFrac(new(big.Int).Mul(total, w), new(big.Int).Mul(whole, unit))
		}
		list[i] = json.Number(amount.FloatString(decimals))
	}
	return list
}

// WriteCSV writes rows as channel,model,conversions,value.
func WriteCSV(w io.Writer, rows []Row) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"channel", "model", "conversions", "value"}) // errors are kept until Flush
	for _, r := range rows {
		_ = out.Write([]string{r.Channel, r.Model, r.Conversions.String(), r.Value.String()})
	}
	out.Flush()
	return out.Error()
}

// WriteJSON writes rows as a list, a row a line.
func WriteJSON(w io.Writer, rows []Row) error {
	text := []byte("[")
	for i, r := range rows {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, "\n "...), line...)
	}
	_, err := w.Write(append(text, "\n]\n"...))
	return err
}
