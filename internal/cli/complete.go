package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completeWords lets shells complete the flags that take one of several words.
func completeWords(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if c, ok := f.Value.(*choice); ok {
			// It fails only for a flag that is not there, or has words already.
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(c.allowed, cobra.ShellCompDirectiveNoFileComp))
		}
	})
}
