package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tributary-io/tributary/dev/demo"
)

// Show prints again what the first start printed, of a dev that runs on Config.Dir.
func Show(ctx context.Context, config Config) (err error) {
	p := &program{Config: config}
	if p.Dir, err = filepath.Abs(config.Dir); err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	text, err := os.ReadFile(p.infoFile())
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("no `tributary dev` is ready on %s: start it, or give the --data of the one that runs", p.Dir)
	}
	if err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	if err := json.Unmarshal(text, &p.info); err != nil {
		return fmt.Errorf("%s cannot be read: %w", p.infoFile(), err)
	}
	if p.secrets, err = openSecrets(p.secretsFile()); err != nil {
		return err
	}
	var sale demo.Sale
	if p.secrets.Seeded {
		if sale, err = demo.NewStore(p.info.EdgeURL, p.info.CompanyID, p.info.AdminURL, p.info.APIKey).Sale(ctx); err != nil {
			fmt.Fprintln(p.Out, "The demo's sale and links cannot be read:", err)
			sale = demo.Sale{}
		}
	}
	p.print(sale)
	return nil
}
