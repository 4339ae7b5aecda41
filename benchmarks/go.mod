module github.com/poolwise/poolwise/benchmarks

go 1.26
