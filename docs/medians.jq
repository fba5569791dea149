# rows.jsonl of `farebench run` (jq -s): a cell for each test, strategy and parameters, with the median of each KPI over its trials.
{cells: (map(select(.value != null)) | group_by([.test, .strategy, .params, .kpi]) | map(.[0] as $first
	| (map(.value) | sort) as $v | {test: $first.test, strategy: $first.strategy, kpi: $first.kpi, n: ($v | length),
		value: $v[($v | length) / 2 | floor], min: $v[0], max: $v[-1]} + $first.params))}
