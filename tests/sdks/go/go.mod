module drover-sdk-checks

go 1.23.0
