"""vllm-contracts: find, explain and repair broken interface contracts in vLLM model sources."""

__version__ = "0.1.0"
