package supervisor_test

func beBad(name string) { panic(name) }
