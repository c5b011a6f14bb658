package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Each secret comes from a file, and from a variable that is not in the help's examples; no flag takes its text, which every process
// of the machine could read.
func TestEverySecretComesFromAFileOrTheEnvironment(t *testing.T) {
	secrets := map[string]bool{}
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			name, isFile := strings.CutSuffix(f.Name, "-file")
			for _, word := range []string{"secret", "password", "token"} {
				if strings.Contains(name, word) && f.Value.Type() == "string" && !isFile {
					t.Errorf("%s --%s takes a secret itself", cmd.CommandPath(), f.Name)
				}
			}
			if isFile && strings.Contains(f.Usage, "or give it in $"+environmentName(name)) {
				secrets[name] = true
			}
		})
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look(newRoot())
	page := docsPage(t, "notes", "asvs.md")
	for _, name := range []string{"hashing-secret", "previous-hashing-secret", "token-secret", "previous-token-secret", "kafka-sasl-password",
		"connect-key", "nuvemshop-app-secret", "previous-nuvemshop-app-secret"} {
		if !secrets[name] {
			t.Errorf("%s does not come from a file and a variable", name)
		}
	}
	for name := range secrets {
		former := strings.HasPrefix(name, "previous-")
		if !former && name != "key" && !strings.Contains(page, "`--"+name+"-file`") {
			t.Errorf("docs/notes/asvs.md does not tell of --%s-file", name)
		}
	}
}

// A password of Kafka that changed in its file is read again, and one from a variable stays.
func TestKafkasPasswordIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("before")
	flags := kafkaFlags{brokers: []string{"x:1"}, mechanism: "PLAIN", username: "u"}
	flags.password = secretFlag{name: "kafka-sasl-password", file: path}
	config, err := flags.config("test")
	if err != nil || config.SASL.Password != "before" {
		t.Fatal(config.SASL.Password, err)
	}
	write("after")
	if got, err := config.SASL.Renew(); err != nil || got != "after" {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("TRIBUTARY_KAFKA_SASL_PASSWORD", "of the variable")
	flags.password.file = ""
	if config, err = flags.config("test"); err != nil || config.SASL.Renew != nil || config.SASL.Password != "of the variable" {
		t.Errorf("%q, %v", config.SASL.Password, err)
	}
}
