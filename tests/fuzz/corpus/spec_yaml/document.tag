name: digits
image: !!python/object:os.system x
run: {start: [python, train.py]}
resources: {cpu: 0.5, memory: 512MiB}
