"""The repairs of an audit as a package that carries them out when vLLM imports the classes, without editing a file."""

from analyzer.patches.generate import Package as Package
from analyzer.patches.generate import make_package as make_package
