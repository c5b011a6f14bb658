package main

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/cmd/tributary/assistant"
	"github.com/tributary-io/tributary/internal/account"
)

func newMCP() *cobra.Command {
	var admin string
	var key secretFlag
	cmd := &cobra.Command{
		Use: "mcp", Short: "Let an assistant read reports, orders and explanations", Args: noArguments,
		Long: `Serve one store to an assistant, by the Model Context Protocol over standard input and
output. An assistant starts this command itself: docs/assistants.md tells how to set one
up, and what it can read. Nothing can be changed.

The API key has the scope ` + string(account.ReadAssistant) + ` and no other: a key that can do more is
refused. "tributary keys create NAME --company COMPANY --scope ` + string(account.ReadAssistant) + `" makes one.`,
		Example: `  tributary mcp --admin https://admin.example.com/admin/v1 --key-file /run/secrets/tributary-assistant`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var wrong problems
			if admin == "" {
				wrong.add(errors.New("give --admin or $" + environmentName("admin")))
			}
			text, err := key.require()
			wrong.add(err)
			if err := wrong.err(); err != nil {
				return err
			}
			client, err := assistant.NewClient(admin, string(text))
			if err != nil {
				return misuse(err)
			}
			ctx := cmd.Context()
			switch err := client.Check(ctx); {
			case ctx.Err() != nil:
				return nil
			case assistant.Unreachable(err): // it may come: the first call asks again
				fmt.Fprintf(cmd.ErrOrStderr(), "tributary: %v\n", err)
			case err != nil:
				return err
			}
			return assistant.Serve(ctx, client, version(debug.ReadBuildInfo()), io.NopCloser(cmd.InOrStdin()), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&admin, "admin", "", "the admin API's base URL, with /admin/v1 (admin_url in dev.json)")
	key.register(cmd.Flags(), "key", "an API key with the scope "+string(account.ReadAssistant)+" and no other")
	required(cmd.Flags(), "admin", "key-file")
	return cmd
}
